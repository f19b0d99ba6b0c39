import { buildTown, type Town } from './town.ts'

/**
 * A town by the sea that has one of everything: a motorway above it with an entrance and an exit; a toll bridge and
 * the long way around it; a market street that is closed from eight to ten; a ferry to an island, not for bicycles;
 * and a distant road that is connected to nothing.
 */
const MAP = `
      1-----------------2-------------------3----------4
     /                   \\
    /                     \\
   a---b---c---d---e---f---g---h---i---j
   |   |   |   |   |   |   |   |   |   |
   k---l---m---n---o---p---q---r---s---t        T========U
   |   |   |   |   |   |   |   |   |   |        |        |
   u---v---w---x---y---z---A---B---C---D--------E        F
                       .                        |        |
                       .                        G        |
                       .                        |        |
                       .                        H--------I
                       .
                       J---K
                       |   |
                       L---M
                                                                                     P---Q
`

const street = (name: string, more: Readonly<Record<string, string>> = {}) => ({
  highway: 'residential',
  name,
  maxspeed: '40',
  ...more,
})

export async function buildSeaside(): Promise<Town> {
  return buildTown(
    MAP,
    {
      '1234': { highway: 'motorway', oneway: 'yes', name: 'Ruta 1', ref: '1', maxspeed: '110' },
      a1: { highway: 'motorway_link', oneway: 'yes', maxspeed: '60' },
      '2g': { highway: 'motorway_link', oneway: 'yes', maxspeed: '60', destination: 'Centro;Puerto' },
      abcdefghij: street('Calle Norte'),
      klmnopqrst: street('Calle Mercado', { 'motor_vehicle:conditional': 'no @ (Mo-Su 08:00-10:00)' }),
      uvwxyzABCD: street('Calle Sur', { highway: 'secondary' }),
      aku: street('Calle A'),
      blv: street('Calle B'),
      cmw: street('Calle C'),
      dnx: street('Calle D'),
      eoy: street('Calle E'),
      fpz: street('Calle F'),
      gqA: street('Calle G'),
      hrB: street('Calle H'),
      isC: street('Calle I'),
      jtD: street('Calle J'),
      DE: street('Avenida del Puente', { highway: 'primary', maxspeed: '60' }),
      ET: street('Subida', { highway: 'primary', maxspeed: '60' }),
      TU: street('Puente', { highway: 'primary', maxspeed: '60', toll: 'yes', bridge: 'yes' }),
      UF: street('Bajada', { highway: 'primary', maxspeed: '60' }),
      EGHIF: street('Vuelta', { highway: 'tertiary', maxspeed: '30' }),
      zJ: {
        route: 'ferry',
        name: 'Lancha',
        duration: '00:10',
        motor_vehicle: 'yes',
        foot: 'yes',
        bicycle: 'no',
      },
      JKMLJ: street('Calle Isla'),
      PQ: street('Camino Perdido'),
    },
    { 2: { highway: 'motorway_junction', ref: '12' } },
  )
}
