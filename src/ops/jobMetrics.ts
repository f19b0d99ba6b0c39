import type { JobCounts } from '../jobs/jobs.ts'
import type { Metrics } from './metrics.ts'

/** The label with a job's name. Prometheus itself has a label `job` for what it scrapes. */
const LABEL = 'name'

/** Metrics of the jobs of this process. */
export function registerJobMetrics(metrics: Metrics, jobs: { readonly counts: readonly JobCounts[] }): void {
  metrics.labelled(
    'job_runs_total',
    'Runs of a job that succeeded in this process.',
    LABEL,
    () => new Map(jobs.counts.map(({ name, runs }) => [name, runs])),
  )
  metrics.labelled(
    'job_failures_total',
    'Runs of a job that failed in this process; they are repeated.',
    LABEL,
    () => new Map(jobs.counts.map(({ name, failures }) => [name, failures])),
  )
}
