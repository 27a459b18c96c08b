import { QueryClient } from '@tanstack/react-query';
import { isReachable, onReachable } from './connection.ts';
import { onSessionChange } from './request.ts';
import { sessionKey } from './session.ts';

/** A page that is opened again shows its earlier data, and requests them again when they are older. */
const freshForMs = 5_000;

export const queryClient = new QueryClient({
  defaultOptions: {
    // Whether Culvert answers differs from the browser's "online": it may run on this machine.
    queries: { staleTime: freshForMs, retry: false, networkMode: 'always' },
    mutations: { retry: false, networkMode: 'always' },
  },
});

onReachable(() => {
  if (isReachable()) void queryClient.invalidateQueries();
});

onSessionChange({
  onEnd: () => void queryClient.invalidateQueries({ queryKey: sessionKey }),
  // What the end of the last one kept from the pages.
  onNext: () => void queryClient.invalidateQueries({ predicate: ({ state }) => state.status === 'error' }),
});
