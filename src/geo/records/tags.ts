/** Keys and values of an object of OpenStreetMap, as in the file: any text. */
export type Tags = ReadonlyMap<string, string>

/** The kinds of objects, as their ids are only unique within a kind. */
export type ObjectType = 'node' | 'way' | 'relation'
