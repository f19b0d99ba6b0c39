import { SaxesParser } from 'saxes'

/** One recorded place of a GPX file. */
export interface TrackPoint {
  /** Degrees. */
  readonly latitude: number
  readonly longitude: number
  /** Epoch milliseconds. */
  readonly time: number
  /** Metres; {@link DEFAULT_ACCURACY_METERS} if the file has none. */
  readonly accuracy: number
}

/** The typical accuracy of a receiver under the open sky. */
const DEFAULT_ACCURACY_METERS = 10

/**
 * The track points of a GPX 1.0 or 1.1 document, in the order of their times. The accuracy is read from an element
 * `accuracy` in metres, which loggers write among a point's extensions. Throws if the document is not well-formed
 * XML, has no track points, or one of them lacks its place or time.
 */
export function parseGpx(text: string): TrackPoint[] {
  const points: TrackPoint[] = []
  const parser = new SaxesParser({ xmlns: true })
  let open: { latitude: number; longitude: number; time: number; accuracy: number } | undefined
  let content = ''
  parser.on('error', (error) => {
    throw error
  })
  parser.on('opentag', ({ local, attributes }) => {
    content = ''
    if (local !== 'trkpt') return
    open = {
      latitude: Number(attributes['lat']?.value ?? NaN),
      longitude: Number(attributes['lon']?.value ?? NaN),
      time: NaN,
      accuracy: DEFAULT_ACCURACY_METERS,
    }
  })
  parser.on('text', (part) => {
    content += part
  })
  parser.on('closetag', ({ local }) => {
    if (open === undefined) return
    if (local === 'time') open.time = Date.parse(content.trim())
    else if (local === 'accuracy' && Number(content) > 0) open.accuracy = Number(content)
    else if (local === 'trkpt') {
      if (!Number.isFinite(open.latitude + open.longitude))
        throw new Error(`Track point ${points.length + 1} has no coordinates.`)
      if (Number.isNaN(open.time)) throw new Error(`Track point ${points.length + 1} has no time.`)
      points.push(open)
      open = undefined
    }
  })
  parser.write(text).close()
  if (points.length === 0) throw new Error('The file has no track points.')
  return points.toSorted((a, b) => a.time - b.time)
}
