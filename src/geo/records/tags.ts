/** Keys and values of an object of OpenStreetMap, as in the file. They may be any texts. */
export type Tags = ReadonlyMap<string, string>

/** The kinds of objects. Ids are only unique within a kind. */
export type ObjectType = 'node' | 'way' | 'relation'
