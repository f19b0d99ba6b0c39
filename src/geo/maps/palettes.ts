/** The colours of map styles. */

export interface Palette {
  readonly sea: string
  readonly earth: string
  readonly residential: string
  readonly green: string
  readonly grass: string
  readonly farmland: string
  readonly sand: string
  readonly ice: string
  readonly industry: string
  readonly institution: string
  readonly paved: string
  readonly building: string
  readonly buildingEdge: string
  readonly highway: string
  readonly highwayEdge: string
  readonly major: string
  readonly minor: string
  readonly roadEdge: string
  readonly path: string
  readonly rail: string
  readonly ferry: string
  readonly border: string
  readonly text: string
  readonly faintText: string
  readonly roadText: string
  readonly waterText: string
  readonly placeText: string
  /** The colour around texts. */
  readonly halo: string
}

const COLOURFUL: Palette = {
  sea: '#a9d3ea',
  earth: '#f5f3ee',
  residential: '#efece5',
  green: '#cbe3bf',
  grass: '#dcebcf',
  farmland: '#eef0df',
  sand: '#f3e9c9',
  ice: '#f4fbff',
  industry: '#e6e3ea',
  institution: '#efe6d8',
  paved: '#eae8e4',
  building: '#e0dbd1',
  buildingEdge: '#d0cabd',
  highway: '#f8c967',
  highwayEdge: '#dba53a',
  major: '#fdeaae',
  minor: '#ffffff',
  roadEdge: '#d8d2c4',
  path: '#c9b7a2',
  rail: '#b5b1ab',
  ferry: '#7fb3d0',
  border: '#9a8fa3',
  text: '#2f3640',
  faintText: '#5f6771',
  roadText: '#4a4f57',
  waterText: '#3c7ea3',
  placeText: '#5a5148',
  halo: '#ffffff',
}

const PALE: Palette = {
  ...COLOURFUL,
  sea: '#cfdbe2',
  earth: '#f6f6f4',
  residential: '#f1f1ef',
  green: '#e3ebe0',
  grass: '#eaefe6',
  farmland: '#f1f2ec',
  sand: '#f2efe6',
  industry: '#ececee',
  institution: '#f0eeeb',
  paved: '#ededeb',
  building: '#e6e6e3',
  buildingEdge: '#dadad6',
  highway: '#dcdcd8',
  highwayEdge: '#c4c4be',
  major: '#ffffff',
  roadEdge: '#dededa',
  path: '#d4d2cd',
  text: '#474d55',
  faintText: '#7c838b',
  roadText: '#6a7078',
  waterText: '#7793a3',
  placeText: '#7c7770',
}

const DARK: Palette = {
  sea: '#15212b',
  earth: '#262b30',
  residential: '#292e34',
  green: '#26372f',
  grass: '#293733',
  farmland: '#2b3231',
  sand: '#37352f',
  ice: '#3a434a',
  industry: '#2e3036',
  institution: '#312f2f',
  paved: '#30343a',
  building: '#343a41',
  buildingEdge: '#3f464e',
  highway: '#7d6a3f',
  highwayEdge: '#4d4433',
  major: '#565b62',
  minor: '#434950',
  roadEdge: '#22262a',
  path: '#4d4a45',
  rail: '#50565d',
  ferry: '#3c5b70',
  border: '#7f748a',
  text: '#dfe4ea',
  faintText: '#a3adb8',
  roadText: '#b9c1ca',
  waterText: '#6d9dba',
  placeText: '#c3b8aa',
  halo: '#1d2125',
}

/** The styles by id: those that the map plugins of SDKs ask for, and our own. */
export const STYLES = {
  'radar-default-v1': COLOURFUL,
  'radar-light-v1': PALE,
  'radar-dark-v1': DARK,
  light: COLOURFUL,
  dark: DARK,
} as const satisfies Readonly<Record<string, Palette>>

export type StyleId = keyof typeof STYLES
