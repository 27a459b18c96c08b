import { createNetworkSet } from '../kernel/network.ts';

/** Whether a key may be used from an address; unknown addresses may not. */
export interface AddressGate {
  lets(address: string | null): boolean;
}

/** Built at the first question: most keys of a directory are not used before it is built anew. */
export function createAddressGate(networks: readonly string[]): AddressGate {
  let set: ReturnType<typeof createNetworkSet> | null = null;
  return {
    lets(address) {
      set ??= createNetworkSet(networks);
      return set.has(address);
    },
  };
}
