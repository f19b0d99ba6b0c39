/** Forms of the dashboard, filled as a person does. */
import type { Page } from 'playwright-core'

/** The fields that tests of geofences fill. */
export interface GeofenceFields {
  readonly name: string
  readonly tag: string
  readonly externalId: string
  readonly latitude: number
  readonly longitude: number
  readonly radiusMeters?: number
}

/** Fills the form of a new geofence, which the page must show. */
export async function fillGeofence(page: Page, fields: GeofenceFields): Promise<void> {
  const { name, tag, externalId, latitude, longitude, radiusMeters } = fields
  const fill = (label: string, text: string) => page.getByLabel(label, { exact: true }).fill(text)
  await fill('Name', name)
  await fill('Tag', tag)
  await fill('Your id', externalId)
  await fill('Latitude', String(latitude))
  await fill('Longitude', String(longitude))
  if (radiusMeters !== undefined) await fill('Radius in metres', String(radiusMeters))
}
