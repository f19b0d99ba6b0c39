/** How many descriptors a server needs besides connections, for the log, databases, threads and the system. */
const RESERVED = 256

/** How many files this process may have open at a time; Infinity if there is no limit or it is unknown. */
export function openFileLimit(): number {
  // Without this, the report asks the name server about every address that it finds.
  Object.assign(process.report, { excludeNetwork: true })
  const { userLimits } = process.report.getReport() as {
    userLimits?: { open_files?: { soft: number | 'unlimited' } }
  }
  const soft = userLimits?.open_files?.soft
  return typeof soft === 'number' ? soft : Infinity
}

/** How many of the wanted connections fit into the system's limit of open files; at least one. */
export function connectionRoom(wanted: number, fileLimit: number): number {
  return Math.max(1, Math.min(wanted, fileLimit - RESERVED))
}
