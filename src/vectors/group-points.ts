import type { GroupQuery } from './vector-store.ts';

/** How many times the points wanted are looked at first, and how much more each time they were not enough. */
export const firstLook = 4;
export const nextLook = 8;

/** `values`: those of each point, best first. A point with several is in several groups; one without is in none. */
export function groupPoints(
  values: readonly (readonly (string | number)[])[],
  { groups: groupsMax, groupSize }: Pick<GroupQuery, 'groups' | 'groupSize'>,
) {
  const groups = new Map<string | number, number[]>();
  values.forEach((ofPoint, at) => {
    for (const value of ofPoint) {
      const places = groups.get(value) ?? [];
      // A group after the last wanted one is not kept.
      if (places.length === 0 && groups.size >= groupsMax) continue;
      groups.set(value, places);
      if (places.length < groupSize) places.push(at);
    }
  });
  const whole = groups.size === groupsMax && [...groups.values()].every((places) => places.length === groupSize);
  return {
    /** By value, groups by their best point: the places of each group's points, best first. */
    groups,
    /** Further points would change nothing. */
    whole,
  };
}

/** Whether the value may name a group. */
export function isGroup(value: unknown): value is string | number {
  return typeof value === 'string' || Number.isInteger(value);
}
