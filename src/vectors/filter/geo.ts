import { isObject, type JsonValue } from '../../kernel/json.ts';
import type { FieldTest, GeoPoint } from './filter.ts';

/** Mean radius of the Earth in metres, as Qdrant's geometry has it. */
const earthRadius = 6_371_008.8;

type GeoBox = Extract<FieldTest, { kind: 'geo-box' }>;
type GeoRadius = Extract<FieldTest, { kind: 'geo-radius' }>;
type GeoPolygon = Extract<FieldTest, { kind: 'geo-polygon' }>;

/** The point that a payload value is: an object with the numbers `lat` and `lon`; null for all others. */
export function geoPointOf(value: JsonValue): GeoPoint | null {
  if (!isObject(value) || typeof value.lat !== 'number' || typeof value.lon !== 'number') return null;
  return { lat: value.lat, lon: value.lon };
}

/** Edges are outside. A left edge east of the right one: the box crosses the antimeridian. */
export function inBox(box: GeoBox, lat: number, lon: number): boolean {
  const across = box.left > box.right ? lon > box.left || lon < box.right : box.left < lon && lon < box.right;
  return across && box.bottom < lat && lat < box.top;
}

/** Great-circle distance below the radius. */
export function inRadius(circle: GeoRadius, lat: number, lon: number): boolean {
  return metresBetween(circle, { lat, lon }) < circle.radius;
}

/** Along a great circle. */
export function metresBetween({ lat: lat1, lon: lon1 }: GeoPoint, { lat: lat2, lon: lon2 }: GeoPoint): number {
  const toRadians = Math.PI / 180;
  const half = Math.sin(((lat2 - lat1) * toRadians) / 2) ** 2;
  const along = Math.sin(((lon2 - lon1) * toRadians) / 2) ** 2;
  const a = half + Math.cos(lat1 * toRadians) * Math.cos(lat2 * toRadians) * along;
  return 2 * earthRadius * Math.asin(Math.min(1, Math.sqrt(a)));
}

/** Inside the exterior and in no interior; a point on a line is in neither the polygon nor, on a hole's, out of the hole. */
export function inPolygon(polygon: GeoPolygon, lat: number, lon: number): boolean {
  if (positionIn(polygon.exterior, lat, lon) !== 'inside') return false;
  return polygon.interiors.every((ring) => positionIn(ring, lat, lon) === 'outside');
}

/** By winding number; the ring is closed, degrees are taken as a plane. */
function positionIn(ring: readonly GeoPoint[], lat: number, lon: number): 'inside' | 'outside' | 'line' {
  let winding = 0;
  for (let i = 0; i + 1 < ring.length; i++) {
    const [from, to] = [ring[i]!, ring[i + 1]!];
    const side = (to.lon - from.lon) * (lat - from.lat) - (lon - from.lon) * (to.lat - from.lat);
    const between =
      Math.min(from.lat, to.lat) <= lat &&
      lat <= Math.max(from.lat, to.lat) &&
      Math.min(from.lon, to.lon) <= lon &&
      lon <= Math.max(from.lon, to.lon);
    if (side === 0 && between) return 'line';
    if (from.lat <= lat && to.lat > lat && side > 0) winding++;
    else if (from.lat > lat && to.lat <= lat && side < 0) winding--;
  }
  return winding === 0 ? 'outside' : 'inside';
}
