import type { Answer } from './route.ts'

export const JSON_CONTENT_TYPE = 'application/json; charset=utf-8'

const SUCCESS = '{"meta":{"code":200}'

/** The JSON text of a handler's answer. */
export function successText(status: number, answer: Answer): string {
  const meta =
    status === 200 && answer.meta === undefined
      ? SUCCESS
      : `{"meta":${JSON.stringify({ code: status, ...answer.meta })}`
  if (answer.json !== undefined) return answer.json === '' ? `${meta}}` : `${meta},${answer.json}}`
  const members = answer.body === undefined ? '{}' : JSON.stringify(answer.body)
  return members === '{}' ? `${meta}}` : `${meta},${members.slice(1)}`
}
