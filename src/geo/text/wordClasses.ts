/**
 * Words of addresses that mean the same, in the languages in which most streets are named. One table serves all of
 * them, because it is small, and of the words that coincide, only `dr` (doctor, drive) and `st` (street, saint) may
 * distinguish streets of one city. All words are in the form of {@link fold}.
 */

/** The first word of each line stands for all others in it. */
const STREET_TYPES = `
alley aly
allee
avenue ave av avenida avda avd
boulevard blvd bd bvar bulevar boul bvd
calle cl cll
camino cno
carretera ctra carr
chemin chem
circle cir
close
continuacion cont
corso cso
court ct
crescent cres cr
diagonal diag
drive dr doctor doktor dra doctora
estrada estr
expressway expy
freeway fwy
gardens gdns
gasse
highway hwy
impasse imp
lane ln
largo
parkway pkwy
pasaje pje psje
paseo pso
peatonal
place pl plaza platz plz pza praca pca piazza
quai
rambla rbla
ring
road rd
rodovia rod
route rte ruta
rua rue r
senda
square sq
street st str strasse straat saint sankt san santo santa sta sto ste sint
terrace ter terr
trail trl
travessa tv
turnpike tpke
via
viale vle
way weg
`
const TITLES = `
almirante alte
arquitecto arq
brigadier brig
capitan cap cpt captain capitao
comandante cte
coronel cnel col colonel
don dom
fray
general gral gen
ingeniero ing eng engenheiro
maestro mtro
mariscal mcal marechal
monsenor mons
mount mt
presidente pte pres president
profesor prof professor
reverend rev
sargento sgto sgt
senor sr
senora sra
teniente tte
`
const DIRECTIONS = `
north n norte nord
south s sur sul sud
east e este leste
west w oeste ouest
northeast ne noreste nordeste
northwest nw noroeste
southeast se sureste sudeste
southwest sw suroeste sudoeste
`
const ORDINALS = `
1st first
2nd second
3rd third
4th fourth
5th fifth
6th sixth
7th seventh
8th eighth
9th ninth
10th tenth
11th eleventh
12th twelfth
1o 1ro 1ero primero primer
1a 1ra 1era primera
2o 2do segundo
2a 2da segunda
3o 3ro tercero tercer
3a 3ra tercera
`
const ARTICLES =
  'a an am as au aux das de del dem den der des di die do dos du e el en het im la las le les los o of the und van von y zum zur'
const SETTLEMENTS = 'city town ciudad cidade stadt ville village villa'

const canonical = new Map<string, string>()
const light = new Set<string>()

for (const [lines, isLight] of [
  [STREET_TYPES, true],
  [TITLES, true],
  [DIRECTIONS, false],
  [ORDINALS, false],
] as const) {
  for (const line of lines.trim().split('\n')) {
    const words = line.split(' ')
    for (const word of words) {
      canonical.set(word, words[0]!)
      if (isLight) light.add(word)
    }
  }
}
for (const word of `${ARTICLES} ${SETTLEMENTS}`.split(' ')) light.add(word)

/** The suffixes of German and Dutch street names. `hauptstrasse` becomes `hauptstr`. */
const SUFFIX = /(?:strasse|straat)$/

/**
 * The form that stands for a word and its abbreviations.
 * @param word folded
 */
export function canonicalForm(word: string): string {
  return canonical.get(word) ?? word.replace(SUFFIX, 'str')
}

/**
 * Whether a word says little, because it is a type of street, a title or an article.
 * @param word folded
 */
export function isLightWord(word: string): boolean {
  return light.has(word)
}

/** Words before the number of an apartment, suite or floor. `#` is folded to `no`. */
export const UNIT_WORDS: ReadonlySet<string> = new Set(
  'apt apto apartment apartamento unit suite ste fl floor piso depto dpto departamento of oficina local rm room no'.split(
    ' ',
  ),
)

/** Words between two streets that meet. */
export const JOIN_WORDS: ReadonlySet<string> = new Set('and at y e esq esquina con und et'.split(' '))
