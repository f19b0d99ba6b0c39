/** Settings with everything of the world turned on. */
export const EVERYTHING = {
  regions: true,
  places: true,
  nearbyPlaceChains: ['mcdonalds', 'burger-king', 'subway'],
  fraud: { enabled: true, blocked: ['stolen-phone'], bypassed: ['203.0.113.0/24'] },
  segments: [
    { description: 'In a café', externalId: 'cafe', rule: { category: 'cafe' } },
    {
      description: 'Regulars',
      externalId: 'regulars',
      rule: { event: { type: 'user.entered_place', category: 'food-beverage', atLeast: 3 } },
    },
  ],
}
