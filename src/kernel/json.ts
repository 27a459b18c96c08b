/** What `JSON.parse` gives. */
export type JsonValue = string | number | boolean | null | JsonValue[] | JsonObject;
/** An object of it; a member may be absent. */
export interface JsonObject {
  [key: string]: JsonValue | undefined;
}

/** True for a JSON object: neither null nor an array. */
export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
