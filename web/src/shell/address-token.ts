/** The token of a link that was opened. It leaves the address bar, and so the history, before it is used. */
export function tokenInAddress(name: 'token' | 'invitation'): string | null {
  const token = new URLSearchParams(location.hash.slice(1)).get(name);
  if (token !== null) history.replaceState(history.state, '', location.pathname + location.search);
  return token;
}
