/** The icons of places on maps: names of Maki, by category. */

export const ICON_PACKAGE = '@mapbox/maki'

/** The icons by the slug of a category. A category without an icon has that of the nearest category above it. */
const ICONS: Readonly<Record<string, string>> = {
  'arts-entertainment': 'attraction',
  'art-gallery': 'art-gallery',
  aquarium: 'aquarium',
  casino: 'casino',
  'movie-theatre': 'cinema',
  museum: 'museum',
  'night-club': 'nightclub',
  theatre: 'theatre',
  zoo: 'zoo',
  automotive: 'car-repair',
  'gas-station': 'fuel',
  'car-dealership': 'car',
  'commercial-industrial': 'industry',
  education: 'school',
  university: 'college',
  finance: 'bank',
  'food-beverage': 'restaurant',
  bakery: 'bakery',
  bar: 'bar',
  brewery: 'beer',
  pub: 'beer',
  cafe: 'cafe',
  'coffee-shop': 'cafe',
  'dessert-restaurant': 'ice-cream',
  'ice-cream-parlor': 'ice-cream',
  'fast-food-restaurant': 'fast-food',
  'burger-restaurant': 'fast-food',
  'farmers-market': 'grocery',
  'pizza-place': 'restaurant-pizza',
  'seafood-restaurant': 'restaurant-seafood',
  'sushi-restaurant': 'restaurant-sushi',
  'noodle-house': 'restaurant-noodle',
  'government-building': 'town-hall',
  'fire-station': 'fire-station',
  'police-station': 'police',
  'post-office': 'post',
  'prison-correctional-facility': 'prison',
  'hotel-lodging': 'lodging',
  campground: 'campsite',
  'local-services': 'commercial',
  'laundry-service': 'laundry',
  parking: 'parking',
  'pet-service': 'dog-park',
  veterinarian: 'veterinary',
  'medical-health': 'doctor',
  dentist: 'dentist',
  hospital: 'hospital',
  pharmacy: 'pharmacy',
  'outdoor-places': 'natural',
  beach: 'beach',
  landmark: 'landmark',
  'statue-fountain': 'monument',
  park: 'park',
  'picnic-ground': 'picnic-site',
  playground: 'playground',
  'public-services-government': 'town-hall',
  library: 'library',
  religion: 'place-of-worship',
  cemetery: 'cemetery',
  'shopping-retail': 'shop',
  'shopping-mall': 'shop',
  supermarket: 'grocery',
  'grocery-store': 'grocery',
  'food-grocery': 'grocery',
  'convenience-store': 'convenience',
  clothing: 'clothing-store',
  'clothing-store': 'clothing-store',
  'shoe-store': 'shoe',
  'jewelry-store': 'jewelry-store',
  'furniture-store': 'furniture',
  florist: 'florist',
  'hardware-store': 'hardware',
  'sports-recreation': 'pitch',
  'fitness-recreation-center': 'fitness-centre',
  gym: 'fitness-centre',
  'golf-course': 'golf',
  stadium: 'stadium',
  'swimming-pool': 'swimming',
  'travel-transportation': 'suitcase',
  airport: 'airport',
  'bus-station': 'bus',
  'train-station': 'rail',
  'subway-station': 'rail-metro',
  'car-rental': 'car-rental',
  'bike-rental-bike-share': 'bicycle-share',
  taxi: 'taxi',
}

const OTHER = 'marker'

/** All icons that maps use. */
export const ICON_NAMES: readonly string[] = [...new Set([...Object.values(ICONS), OTHER])].sort()

/**
 * The icon of a place.
 * @param categories slugs, each after its ancestors
 */
export function iconOf(categories: readonly string[]): string {
  const known = categories.findLast((category) => Object.hasOwn(ICONS, category))
  return known === undefined ? OTHER : ICONS[known]!
}
