type Link = 'token' | 'invitation';

export function hasToken(name: Link): boolean {
  return new URLSearchParams(location.hash.slice(1)).has(name);
}

/** A link that is opened in a tab of the dashboard changes its hash alone: it is loaded as in a new tab. */
export function reloadForLinks(): void {
  addEventListener('hashchange', () => {
    if (hasToken('token') || hasToken('invitation')) location.reload();
  });
}

/** The token of a link that was opened. It leaves the address bar, and so the history, before it is used. */
export function tokenInAddress(name: Link): string | null {
  const token = new URLSearchParams(location.hash.slice(1)).get(name);
  if (token !== null) history.replaceState(history.state, '', location.pathname + location.search);
  return token;
}
