/** Whether only this machine can reach `server.host`. It decides what a start may do without being asked. */
export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || /^127\./.test(host);
}
