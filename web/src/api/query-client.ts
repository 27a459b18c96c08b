import { MutationCache, QueryCache, QueryClient } from '@tanstack/react-query';
import { isReachable, onReachable } from './connection.ts';
import { ApiError } from './request.ts';
import { sessionKey } from './session.ts';

/** A page that is opened again shows its earlier data, and requests them again when they are older. */
const freshForMs = 5_000;

export const queryClient = new QueryClient({
  defaultOptions: {
    // Whether Culvert answers differs from the browser's "online": it may run on this machine.
    queries: { staleTime: freshForMs, retry: false, networkMode: 'always' },
    mutations: { retry: false, networkMode: 'always' },
  },
  queryCache: new QueryCache({ onError: noticeEndOfSession }),
  mutationCache: new MutationCache({ onError: noticeEndOfSession }),
});

onReachable(() => {
  if (isReachable()) void queryClient.invalidateQueries();
});

function noticeEndOfSession(error: Error): void {
  if (error instanceof ApiError && error.status === 401) void queryClient.invalidateQueries({ queryKey: sessionKey });
}
