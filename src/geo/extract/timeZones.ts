import tzLookup from '@photostructure/tz-lookup'

/**
 * Zones that the time zone database has merged because their clocks have shown the same time since 1970. It keeps
 * their names as links to one zone (its file `backward`, public domain). This table has the links that the builder of
 * routing tiles refuses, by the zone that they lead to; test/geodata/timeZones.test.ts lets the builder read every
 * zone.
 */
const LINKS: Readonly<Record<string, string>> = {
  'Africa/Abidjan':
    'Africa/Bamako Africa/Banjul Africa/Conakry Africa/Dakar Africa/Freetown Africa/Lome Africa/Nouakchott Africa/Ouagadougou Atlantic/St_Helena',
  'Africa/Johannesburg': 'Africa/Maseru Africa/Mbabane',
  'Africa/Lagos':
    'Africa/Bangui Africa/Brazzaville Africa/Douala Africa/Kinshasa Africa/Libreville Africa/Luanda Africa/Malabo Africa/Niamey Africa/Porto-Novo',
  'Africa/Maputo':
    'Africa/Blantyre Africa/Bujumbura Africa/Gaborone Africa/Harare Africa/Kigali Africa/Lubumbashi Africa/Lusaka',
  'Africa/Nairobi':
    'Africa/Addis_Ababa Africa/Asmara Africa/Dar_es_Salaam Africa/Djibouti Africa/Kampala Africa/Mogadishu Indian/Antananarivo Indian/Comoro Indian/Mayotte',
  'America/Panama': 'America/Cayman',
  'America/Puerto_Rico':
    'America/Anguilla America/Antigua America/Aruba America/Dominica America/Guadeloupe America/Kralendijk America/Lower_Princes America/Marigot America/Montserrat America/St_Barthelemy America/St_Kitts America/St_Lucia America/St_Thomas America/St_Vincent America/Tortola',
  'Asia/Bangkok': 'Asia/Phnom_Penh Asia/Vientiane',
  'Asia/Dubai': 'Asia/Muscat',
  'Asia/Qatar': 'Asia/Bahrain',
  'Asia/Riyadh': 'Asia/Aden Asia/Kuwait',
  'Europe/Belgrade': 'Europe/Ljubljana Europe/Podgorica Europe/Sarajevo Europe/Skopje Europe/Zagreb',
  'Europe/Berlin': 'Arctic/Longyearbyen',
  'Europe/Helsinki': 'Europe/Mariehamn',
  'Europe/London': 'Europe/Guernsey Europe/Isle_of_Man Europe/Jersey',
  'Europe/Prague': 'Europe/Bratislava',
  'Europe/Rome': 'Europe/San_Marino',
  'Europe/Zurich': 'Europe/Busingen Europe/Vaduz',
  'Pacific/Auckland': 'Antarctica/McMurdo',
  'Pacific/Guam': 'Pacific/Saipan',
  'Pacific/Pago_Pago': 'Pacific/Midway',
}

const ZONE_OF: ReadonlyMap<string, string> = new Map(
  Object.entries(LINKS).flatMap(([zone, links]) => links.split(' ').map((link) => [link, zone] as const)),
)

/**
 * The name of a zone for the builder of routing tiles.
 * @param name from {@link tzLookup}
 */
export function builderZone(name: string): string {
  return ZONE_OF.get(name) ?? name
}

/**
 * The zone at a position in degrees, under a name that the builder of routing tiles knows. It is correct to within 2
 * km of a border.
 */
export function timeZoneAt(longitude: number, latitude: number): string {
  return builderZone(tzLookup(latitude, longitude))
}
