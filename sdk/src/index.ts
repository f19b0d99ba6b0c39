export { Ringfence, type RingfenceOptions } from './client.ts'
export {
  ConnectionError,
  RingfenceError,
  StreamClosedError,
  StreamFullError,
  WebhookVerificationError,
} from './errors.ts'
export type { StreamEncoding } from './stream/encoding.ts'
export type { BatchIterator } from './stream/batches.ts'
export type { EventIterator } from './stream/events.ts'
export type {
  ClientMessage,
  Coordinates,
  EventFilter,
  Position,
  ServerMessage,
  WatchedArea,
  WatchFilter,
} from './stream/messages.ts'
export type { PositionIterator } from './stream/positions.ts'
export type { WebSocketConstructor } from './stream/socket.ts'
export type {
  EventOptions,
  RingfenceStream,
  StreamOptions,
  StreamState,
  WatchOptions,
} from './stream/stream.ts'
export type {
  AnswerOf,
  Beacon,
  BeaconDefinition,
  CallOptions,
  Event,
  Geofence,
  GeofenceDefinition,
  OptionsOf,
  PathOf,
  Settings,
  Update,
  User,
} from './types.ts'
export { verifyWebhook, type WebhookHeaders, type WebhookPayload } from './webhook.ts'
