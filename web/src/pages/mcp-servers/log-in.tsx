import { useMutation, useQueryClient } from '@tanstack/react-query';
import { LogIn, LogOut } from 'lucide-react';
import { useState } from 'react';
import type { McpServerReply } from '../../../../src/admin/entries/mcp-server-shown.ts';
import { mcpServers } from '../../api/entries.ts';
import { call } from '../../api/request.ts';
import { useMay } from '../../api/rights.ts';
import { Button, buttonClass } from '../../parts/button.tsx';
import { Confirm, Dialog } from '../../parts/dialog.tsx';
import { ErrorNote } from '../../parts/error-note.tsx';
import { Ago, None } from '../../parts/figures.tsx';
import { clock } from '../../parts/format.ts';
import { Fact, Facts, Section } from '../../parts/page.tsx';
import { toast } from '../../parts/toast.tsx';

/** Login at a server that holds for everybody who may use it here. */
export function Login({ server }: { server: McpServerReply }) {
  const { name, login, status } = server;
  const client = useQueryClient();
  const may = useMay('providers', 'write');
  const [leaving, setLeaving] = useState(false);
  if (login === null && status !== 'needs-login') return null;
  return (
    <Section
      title="Login"
      actions={
        may && (
          <>
            {login !== null && (
              <Button icon={<LogOut className="size-4" />} onClick={() => setLeaving(true)}>
                Log out
              </Button>
            )}
            <LogInButton server={server} />
          </>
        )
      }
    >
      {login === null ? (
        <p className="text-muted">
          Nobody is logged in. All keys that may use this server will use it with the permissions of the person who logs
          in.
        </p>
      ) : (
        <Facts>
          <Fact name="State">{login.ended === null ? 'logged in' : `over: ${login.ended}`}</Fact>
          <Fact name="Started by">
            {login.by}, <Ago at={login.at} />
          </Fact>
          <Fact name="Authorization server">{login.issuer ?? <None />}</Fact>
          <Fact name="Permissions">{login.scope ?? <None />}</Fact>
        </Facts>
      )}
      <Confirm
        open={leaving}
        onClose={() => setLeaving(false)}
        title={`Log out of ${name}?`}
        action="Log out"
        onConfirm={async () => {
          await call('DELETE', `${mcpServers.addressOf(name)}/login`);
          toast(`The tokens for ${name} are forgotten.`);
          await mcpServers.refresh(client);
        }}
      >
        Culvert forgets its tokens. Calls of its tools fail until a person logs in again.
      </Confirm>
    </Section>
  );
}

/** The address opens in another tab by the operator's own click: browsers refuse tabs that open without a click. */
function LogInButton({ server: { name, login } }: { server: McpServerReply }) {
  const [before, setBefore] = useState<string | null>(null);
  const begin = useMutation({
    mutationFn: () => call<{ url: string; expires_at: string }>('POST', `${mcpServers.addressOf(name)}/login`),
    onMutate: () => setBefore(login?.at ?? ''),
  });
  const done = before !== null && (login?.at ?? '') !== before;
  return (
    <>
      <Button look="main" icon={<LogIn className="size-4" />} busy={begin.isPending} onClick={() => begin.mutate()}>
        {login === null ? 'Log in' : 'Log in again'}
      </Button>
      <Dialog
        open={!begin.isIdle && !begin.isPending}
        onClose={begin.reset}
        title={`Log in at ${name}`}
        description="Its authorization server asks you in another tab, and sends you back to Culvert."
      >
        {begin.error !== null && <ErrorNote error={begin.error} />}
        {begin.data !== undefined && (
          <div className="flex flex-col gap-4">
            {done ? (
              <p>You are logged in.</p>
            ) : (
              <p className="text-muted">
                The address works once, until {clock(Date.parse(begin.data.expires_at))}. This page notices when you are
                logged in.
              </p>
            )}
            <div className="flex justify-end">
              {done ? (
                <Button look="main" onClick={begin.reset}>
                  Done
                </Button>
              ) : (
                <a href={begin.data.url} target="_blank" rel="noopener noreferrer" className={buttonClass('main')}>
                  Open the login
                </a>
              )}
            </div>
          </div>
        )}
      </Dialog>
    </>
  );
}
