/**
 * The credit for data of OpenStreetMap, which their licence (ODbL 1.0) requires: extracts, the borders of countries and
 * the time zones.
 */
export const OSM_CREDIT = '© OpenStreetMap contributors'
