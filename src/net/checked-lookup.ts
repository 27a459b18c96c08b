import type { LookupFunction } from 'node:net';
import type { Address } from './fetch-guard.ts';

/**
 * The lookup of a connection that goes to these addresses, which were checked, and nowhere else. Node calls it for names
 * only: literal addresses were checked before and are used as they are.
 */
export function checkedLookup(addresses: readonly Address[]): LookupFunction {
  return (hostname, { all }, callback) => {
    const [first] = addresses;
    if (all) callback(null, [...addresses]);
    else if (first !== undefined) callback(null, first.address, first.family);
    else callback(new Error(`no address of ${hostname} was checked`), '');
  };
}
