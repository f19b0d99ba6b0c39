/**
 * What goes over the operator's socket: one JSON object a line. The operator's side says one thing, and ends its side
 * of the connection when it has all it needs; `exit` or `refused` is the server's last word.
 */
import type { FolderImage } from '../backup/port.ts'

export type ControlRequest =
  /** A command with its arguments: `['keys', 'list']`. */
  | { readonly run: readonly string[] }
  /** Copy the event index into this folder and hold the rest still, until the operator's side is ended. */
  | { readonly hold: string }

export type ControlReply =
  /** A line for the operator's screen. */
  | { readonly print: string }
  /** How far the event index is, in bytes. */
  | { readonly copied: number; readonly total: number }
  | { readonly held: FolderImage }
  /** The exit code of the command. */
  | { readonly exit: number }
  | { readonly refused: string }
