/** What turns `before` into `after` in a PATCH: members that differ, null for those that went. */
export function mergePatch(
  before: Readonly<Record<string, unknown>>,
  after: Readonly<Record<string, unknown>>,
): Record<string, unknown> {
  const patch: Record<string, unknown> = {};
  for (const name of Object.keys(before)) if (!(name in after)) patch[name] = null;
  for (const [name, value] of Object.entries(after))
    if (JSON.stringify(before[name]) !== JSON.stringify(value)) patch[name] = value;
  return patch;
}
