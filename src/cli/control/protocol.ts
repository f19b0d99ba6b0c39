/**
 * The protocol of the operator's socket: one JSON object per line. The operator's side sends one message, and closes
 * its end of the connection when it has everything. `exit` or `refused` is the server's last message.
 */
import type { BackupContents } from '../backup/port.ts'

export type ControlRequest =
  /** A command with its arguments: `['keys', 'list']`. */
  | { readonly run: readonly string[] }
  /**
   * Copy the event index into this folder and keep the other files unchanged, until the operator's side closes the
   * connection.
   */
  | { readonly hold: string }

export type ControlReply =
  /** A line for the operator's screen. */
  | { readonly print: string }
  /** The progress of the event index, in bytes. */
  | { readonly copied: number; readonly total: number }
  | { readonly held: BackupContents }
  /** The exit code of the command. */
  | { readonly exit: number }
  | { readonly refused: string }
