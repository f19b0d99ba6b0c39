import Type from 'typebox'
import { route, type Route } from '../http/route.ts'
import { DateTime } from '../http/schemas.ts'
import { isoDate } from '../model/isoDate.ts'
import { MAX_DEVICES, MAX_MINUTES, type Simulation, type Simulations } from './simulations.ts'

const TAG = 'Operations'
const PATH = '/v1/simulations'
const DEFAULT_DEVICES = 200
const DEFAULT_MINUTES = 30

const SimulationSchema = Type.Object({
  devices: Type.Integer(),
  startedAt: DateTime,
  endsAt: DateTime,
  updates: Type.Integer({ description: 'Updates that were accepted.' }),
})
const Answer = Type.Object({
  simulation: Type.Optional(
    Type.Object(SimulationSchema.properties, { description: 'Absent if no simulation is running.' }),
  ),
})

/** A city of devices in the test environment, for people who have none of their own yet. */
export function simulationRoutes(simulations: Simulations): Route[] {
  return [
    route({
      method: 'POST',
      path: PATH,
      auth: 'secret',
      role: 'write',
      tag: TAG,
      summary: 'Simulate a city',
      description:
        'Devices `city-1`, `city-2` … drive through 24 geofences with the tag `city` in Montevideo, as if they sent an update every 1.2 seconds, until ' +
        'the time is over. Only in the test environment. If a simulation is running, it begins anew.',
      body: Type.Object({
        devices: Type.Optional(
          Type.Integer({ minimum: 1, maximum: MAX_DEVICES, description: `Default ${DEFAULT_DEVICES}.` }),
        ),
        minutes: Type.Optional(
          Type.Number({
            exclusiveMinimum: 0,
            maximum: MAX_MINUTES,
            description: `Default ${DEFAULT_MINUTES}.`,
          }),
        ),
      }),
      answers: {
        200: Answer,
        409: Type.Object({}, { description: 'Too many devices are simulated for other projects.' }),
      },
      async handler({ credentials, body }) {
        const { devices = DEFAULT_DEVICES, minutes = DEFAULT_MINUTES } = body
        return {
          body: { simulation: shownOf(await simulations.begin(credentials!.scope, devices, minutes)) },
        }
      },
    }),
    route({
      method: 'GET',
      path: PATH,
      auth: 'secret',
      tag: TAG,
      summary: 'Get the simulated city',
      description: 'Returns the simulation of the process that answers.',
      answers: { 200: Answer },
      handler({ credentials }) {
        const current = simulations.current(credentials!.scope)
        return { body: current === undefined ? {} : { simulation: shownOf(current) } }
      },
    }),
    route({
      method: 'DELETE',
      path: PATH,
      auth: 'secret',
      role: 'write',
      tag: TAG,
      summary: 'End the simulated city',
      description:
        'Ends the simulation, and deletes its geofences and the users that it made since the server started. Their events stay.',
      answers: { 200: Type.Object({}) },
      async handler({ credentials }) {
        await simulations.remove(credentials!.scope)
        return { body: {} }
      },
    }),
  ]
}

function shownOf({ devices, startedAt, endsAt, updates }: Simulation) {
  return { devices, startedAt: isoDate(startedAt), endsAt: isoDate(endsAt), updates }
}
