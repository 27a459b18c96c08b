/** Path of an address without a slash at its end, such as `/culvert`; '' where it has none. */
export function basePathOf(address: string | undefined): string {
  return URL.parse(address ?? '')?.pathname.replace(/\/+$/, '') ?? '';
}

/** A path, with or without a query, below `base`; itself where it does not begin so. */
export function withoutBase(path: string, base: string): string {
  if (base === '' || !path.startsWith(base)) return path;
  const rest = path.slice(base.length);
  if (rest === '' || rest.startsWith('?')) return `/${rest}`;
  return rest.startsWith('/') ? rest : path;
}
