/** Address where callers on this machine reach a server that listens on `host`, which may be all addresses. */
export function urlOf(host: string, port: number): string {
  const shown = host === '0.0.0.0' || host === '::' ? '127.0.0.1' : host;
  return `http://${shown.includes(':') ? `[${shown}]` : shown}:${port}`;
}

/** A sentence on why a server cannot listen, and what to do about it. */
export function whyNotListening(error: unknown, host: string, port: number): string {
  const code = error instanceof Error && 'code' in error ? String(error.code) : String(error);
  if (code === 'EADDRINUSE')
    return `Another program uses port ${port} on ${host}. Stop it, or choose another port: --port, PORT or server.port.`;
  if (code === 'EACCES')
    return `Port ${port} needs more rights than this user has. Choose one above 1023 (server.port).`;
  if (code === 'EADDRNOTAVAIL') return `${host} is not an address of this machine. Correct server.host.`;
  return `Cannot listen on ${host}:${port} (${code}).`;
}
