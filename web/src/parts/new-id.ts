/**
 * A random UUID, of version 4. Browsers have `crypto.randomUUID` only over https and on localhost, and a dashboard may be
 * open over plain http from another machine.
 */
export function newId(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
  return hex.replace(/^(.{8})(.{4}).(.{3}).(.{3})(.{12})$/, '$1-$2-4$3-8$4-$5');
}
