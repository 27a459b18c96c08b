import { keepPreviousData, useQuery } from '@tanstack/react-query';
import type { AttemptsReply } from '../../../../src/admin/usage/attempts.ts';
import { get, type Query } from '../../api/request.ts';

export type AttemptRow = AttemptsReply['data'][number];

const everyMs = 30_000;

/** Attempts at providers, those with the most of them first. */
export function useAttempts(query: Query, enabled = true) {
  return useQuery({
    queryKey: ['/admin/v1/attempts', query],
    queryFn: ({ signal }) => get<AttemptsReply>('/admin/v1/attempts', query, signal),
    placeholderData: keepPreviousData,
    refetchInterval: everyMs,
    enabled,
  });
}
