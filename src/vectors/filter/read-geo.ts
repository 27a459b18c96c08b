import type { FieldTest, GeoPoint } from './filter.ts';
import { type FilterBudget, takeValues } from './filter-budget.ts';
import { kindOf, readObject, refuse } from './refuse.ts';

/** Points of one polygon, its holes included. */
const polygonPointsMax = 10_000;

/** `geo_bounding_box`. Throws a FailureError (400), as all of these. */
export function readGeoBox(json: unknown, at: string): FieldTest {
  const object = readObject(json, at, ['top_left', 'bottom_right']);
  const topLeft = readPoint(object.top_left, `${at}.top_left`);
  const bottomRight = readPoint(object.bottom_right, `${at}.bottom_right`);
  return { kind: 'geo-box', top: topLeft.lat, left: topLeft.lon, bottom: bottomRight.lat, right: bottomRight.lon };
}

export function readGeoRadius(json: unknown, at: string): FieldTest {
  const object = readObject(json, at, ['center', 'radius']);
  const { lat, lon } = readPoint(object.center, `${at}.center`);
  if (typeof object.radius !== 'number') refuse(`${at}.radius`, `expected metres, got ${kindOf(object.radius)}`);
  return { kind: 'geo-radius', lat, lon, radius: object.radius };
}

/** Its points are listed values of the filter: each value of the key is held against all of them. */
export function readGeoPolygon(json: unknown, at: string, budget: FilterBudget): FieldTest {
  const object = readObject(json, at, ['exterior', 'interiors']);
  const exterior = readRing(object.exterior, `${at}.exterior`);
  const interiors = object.interiors ?? [];
  if (!Array.isArray(interiors)) refuse(`${at}.interiors`, `expected an array, got ${kindOf(interiors)}`);
  const holes = interiors.map((ring, i) => readRing(ring, `${at}.interiors[${i}]`));
  const points = holes.reduce((sum, ring) => sum + ring.length, exterior.length);
  if (points > polygonPointsMax) refuse(at, `a polygon has at most ${polygonPointsMax} points, this one has ${points}`);
  takeValues(points, at, budget);
  return { kind: 'geo-polygon', exterior, interiors: holes };
}

function readRing(json: unknown, at: string): readonly GeoPoint[] {
  const { points } = readObject(json, at, ['points']);
  if (!Array.isArray(points)) refuse(`${at}.points`, `expected an array of points, got ${kindOf(points)}`);
  if (points.length < 4 || points.length > polygonPointsMax)
    refuse(`${at}.points`, `expected 4 to ${polygonPointsMax} points, got ${points.length}`);
  const ring = points.map((point, i) => readPoint(point, `${at}.points[${i}]`));
  const [first, last] = [ring[0], ring.at(-1)];
  if (first?.lat !== last?.lat || first?.lon !== last?.lon)
    refuse(`${at}.points`, 'the last point must be the first again, to close the line');
  return ring;
}

function readPoint(json: unknown, at: string): GeoPoint {
  const { lat, lon } = readObject(json, at, ['lat', 'lon']);
  return { lat: readDegrees(lat, 90, `${at}.lat`), lon: readDegrees(lon, 180, `${at}.lon`) };
}

function readDegrees(value: unknown, max: number, at: string): number {
  if (typeof value !== 'number' || Math.abs(value) > max)
    refuse(at, `expected degrees from -${max} to ${max}, got ${typeof value === 'number' ? value : kindOf(value)}`);
  return value;
}
