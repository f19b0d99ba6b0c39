/** Which test files may share a process. A process of its own costs more than most files of rules take. */
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

/**
 * What a file may not have that shares a process, nor the files of test/ that it imports: what it changes, starts, measures or
 * leaves behind would be that of the others. What ends with the whole file, by a `t` outside of its tests, would end with all
 * of them. Folders of tap have the name of the program.
 */
const OWN =
  /process\.(?!env|stdout|send)|process\.env[^\n]*[^=!]=[^=]|globalThis|performance\.|^t\.(?:teardown|setTimeout|jobs|before|after)|^(?!(?:await )?t\.)\S[^\n]*\(t[,)]|child_process|worker_threads|matchSnapshot|testdir|node:(?:http|net|https|tls)'/m
/** These are made for it. */
const KIT = new Set(['test/kit/waiting.ts', 'test/kit/fastCheck.ts'])
const IMPORT = /(?:from|import)\s*\(?\s*'(\.[^']+)'/g

/** Whether a test file can be one of several in a process. */
export function mayShare(path: string): boolean {
  const seen = new Set<string>()
  const isGood = (file: string): boolean => {
    if (seen.has(file) || KIT.has(file)) return true
    seen.add(file)
    const text = readFileSync(file, 'utf8')
    if (OWN.test(text)) return false
    return [...text.matchAll(IMPORT)].every(([, to]) => {
      const imported = join(dirname(file), to!)
      return !imported.startsWith('test/') || !existsSync(imported) || isGood(imported)
    })
  }
  return isGood(path)
}

/** The comment with which the output of a file begins. */
export function beginOf(path: string): string {
  return `file ${path}`
}
