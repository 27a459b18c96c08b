/*
 * Each worker has a boot, by which the others know what ran in it: `<server>.<place>.<generation>`. A generation ends
 * when its worker dies, and the one that takes its place is the next.
 */

export function bootOf(server: string, place: number, generation: number): string {
  return `${server}.${place}.${generation}`;
}

/** The server of a boot, whose processes all have its name; one that is the only process of its server is named so itself. */
export function serverOf(boot: string): string {
  return boot.split('.')[0] ?? '';
}

/** `ended`: of each place, the last generation that is over. Boots of other servers are all over. */
export function isBootOver(boot: string, ofServer: string, ended: readonly number[]): boolean {
  const [server, place, generation] = boot.split('.');
  return server !== serverOf(ofServer) || Number(generation) <= (ended[Number(place) - 1] ?? 0);
}
