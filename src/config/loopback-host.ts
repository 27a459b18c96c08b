/** Whether `server.host` can be reached from this machine alone; decides what a start may do unasked. */
export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || /^127\./.test(host);
}
