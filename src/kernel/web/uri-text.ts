/** The text behind the signs of a URL; as it is where they are wrong. */
export function uriText(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
