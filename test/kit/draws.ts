/**
 * How often something is drawn: a third of `count` in the quick suite. RINGFENCE_TEST_RUNS=1 draws it that often, and
 * larger numbers more often; `npm run test:slow` sets 2.
 */
export function draws(count: number): number {
  const times = process.env['RINGFENCE_TEST_RUNS']
  return Math.ceil(times === undefined ? count / 3 : count * Number(times))
}
