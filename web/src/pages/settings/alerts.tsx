import { useMutation, useQuery } from '@tanstack/react-query';
import { BellRing, Send } from 'lucide-react';
import type { AlertsTriedReply } from '../../../../src/admin/alerts.ts';
import { call } from '../../api/request.ts';
import { useMay } from '../../api/rights.ts';
import { serverPath } from '../../api/server-path.ts';
import { Button } from '../../parts/button.tsx';
import { Empty } from '../../parts/empty.tsx';
import { ErrorNote } from '../../parts/error-note.tsx';
import { Section } from '../../parts/page.tsx';
import { SkeletonRows } from '../../parts/skeleton.tsx';
import { Badge } from '../../parts/status.tsx';
import { configQuery } from './config-query.ts';
import { NoticeHistory } from './notice-history.tsx';

/** Receivers of alerts, whether a test message reaches them, and what was sent. */
export function Alerts() {
  return (
    <>
      <Receivers />
      <NoticeHistory />
    </>
  );
}

function Receivers() {
  const { data, error, refetch } = useQuery(configQuery);
  const may = useMay('settings', 'write');
  const test = useMutation({ mutationFn: () => call<AlertsTriedReply>('POST', '/admin/v1/alerts/test') });
  if (error !== null) return <ErrorNote error={error} retry={() => void refetch()} />;
  if (data === undefined) return <SkeletonRows />;
  const receivers = data.settings.flatMap(({ path, value }) =>
    /^telemetry\.alerts\.to\[\d+\]\.name$/.test(path) && value !== null ? [value] : [],
  );
  if (receivers.length === 0) {
    return (
      <Section>
        <Empty icon={<BellRing />} title="Nobody gets alerts.">
          Name receivers under <code className="font-mono">telemetry.alerts.to</code> in culvert.yaml: mail, Slack or a
          webhook.{' '}
          <a href={`${serverPath}/docs/telemetry`} className="text-accent underline underline-offset-2">
            Documentation
          </a>
        </Empty>
      </Section>
    );
  }
  const action = may && (
    <Button icon={<Send className="size-4" aria-hidden />} busy={test.isPending} onClick={() => test.mutate()}>
      Send a test message
    </Button>
  );
  return (
    <>
      {test.error !== null && <ErrorNote error={test.error} />}
      <Section title="Receivers" inside="flush" actions={action}>
        <ul aria-label="Receivers" className="divide-y divide-line">
          {receivers.map((name) => {
            const tried = test.data?.data.find((one) => one.name === name);
            return (
              <li key={name} className="flex flex-wrap items-center gap-x-3 gap-y-1 px-4 py-2">
                <span className="min-w-0 flex-1 font-medium [overflow-wrap:anywhere]">{name}</span>
                {tried !== undefined && (
                  <Badge tone={tried.ok ? 'ok' : 'bad'}>{tried.ok ? 'arrived' : 'did not arrive'}</Badge>
                )}
                {tried?.message != null && (
                  <span className="w-full text-bad text-sm [overflow-wrap:anywhere]">{tried.message}</span>
                )}
              </li>
            );
          })}
        </ul>
      </Section>
    </>
  );
}
