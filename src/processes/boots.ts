/*
 * Each worker has a boot, by which the others know what ran in it: `<server>.<place>.<generation>`. A generation ends
 * when its worker dies, and the one that takes its place is the next.
 */

export function bootOf(server: string, place: number, generation: number): string {
  return `${server}.${place}.${generation}`;
}

/** `ended`: of each place, the last generation that is over. Boots of other servers are all over. */
export function isBootOver(boot: string, ofServer: string, ended: readonly number[]): boolean {
  const [server, place, generation] = boot.split('.');
  const [ours] = ofServer.split('.');
  return server !== ours || Number(generation) <= (ended[Number(place) - 1] ?? 0);
}
