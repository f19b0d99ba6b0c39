import { CallFailure } from './call.ts'
import { environment } from './environment.ts'

/**
 * Saves an answer as a file. A plain link would not carry the environment of the session.
 * @throws CallFailure
 */
export async function download(path: string, fileName: string): Promise<void> {
  const answer = await fetch(path, { headers: { 'X-Ringfence-Environment': environment.value } })
  if (!answer.ok) {
    const { meta } = (await answer.json().catch(() => ({}))) as { meta?: { message?: string } }
    throw new CallFailure(meta?.message ?? `The server answered ${answer.status}.`, answer.status)
  }
  const link = document.createElement('a')
  link.href = URL.createObjectURL(await answer.blob())
  link.download = fileName
  link.click()
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000)
}
