import type { AnswerOf } from '../../../../sdk/src/types.ts'
import type { Tone } from '../../ui/parts.tsx'

export type Run = AnswerOf<'/v1/geofence-sync/runs/{id}', 'get'>['run']
export type Sync = AnswerOf<'/v1/geofence-sync', 'get'>['sync']

export const RUN_TONES: Readonly<Record<string, Tone>> = {
  queued: undefined,
  running: 'accent',
  succeeded: 'ok',
  partial: 'warn',
  failed: 'bad',
  canceled: undefined,
  interrupted: 'warn',
}

export function isUnderWay({ status }: Pick<Run, 'status'>): boolean {
  return status === 'queued' || status === 'running'
}
