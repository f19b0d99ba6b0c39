/** Options of Node for the processes that tests start. */
import { fileURLToPath } from 'node:url'

const STRIPPED = fileURLToPath(new URL('./stripped.cjs', import.meta.url))

/** What the runner gives to the test files; see stripped.cjs. */
export const RUNNER_OPTIONS = `--require ${JSON.stringify(STRIPPED)}`

/**
 * NODE_OPTIONS for processes that test files start: those of the runner, if it runs this file. Not the hooks that
 * `tap run` adds to every child: with them, SIGXFSZ (a full file) would kill a server.
 */
export const NODE_OPTIONS = (process.env['NODE_OPTIONS'] ?? '').includes(RUNNER_OPTIONS) ? RUNNER_OPTIONS : ''
