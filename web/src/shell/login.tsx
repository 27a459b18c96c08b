import { useMutation, useQueryClient } from '@tanstack/react-query';
import { type ReactNode, useEffect, useState } from 'react';
import { placeNow, serverPath } from '../api/server-path.ts';
import { type Credential, type LoginWays, logIn, providerLogins } from '../api/session.ts';
import { Button, buttonClass } from '../parts/button.tsx';
import { Input, Segments } from '../parts/controls.tsx';
import { Note } from '../parts/error-note.tsx';
import { Field, Form } from '../parts/forms/form.tsx';
import { tokenInAddress } from './address-token.ts';
import { Mark } from './mark.tsx';

interface LoginProps {
  ways: LoginWays;
  /** The link of the address was used, or could not be. */
  onLink?: (error: Error | null) => void;
  /** `over`: over a page that keeps what was typed, so a provider's login opens in another tab. */
  place?: 'alone' | 'over';
}

export function LoginPage({ ways, onLink }: LoginProps) {
  return (
    <EntrancePage title="Log in">
      <div className="rounded-xl border border-line bg-panel p-5">
        <LoginForm ways={ways} onLink={onLink} />
      </div>
      <p className="mt-4 text-center text-muted text-xs">
        <code className="font-mono">culvert dashboard</code> opens a link that logs you in.
      </p>
    </EntrancePage>
  );
}

/** A page for those who are not logged in. */
export function EntrancePage({ title, children }: { title: string; children: ReactNode }) {
  useEffect(() => {
    document.title = `${title} · Culvert`;
  }, [title]);
  return (
    <main className="flex min-h-dvh flex-col items-center bg-ground px-4 pt-[14dvh] pb-10">
      <div className="w-full max-w-sm">
        <div className="mb-5 flex items-center justify-center gap-2">
          <Mark className="size-7" />
          <h1 className="font-semibold text-xl">Culvert</h1>
        </div>
        {children}
      </div>
    </main>
  );
}

/** Also over a page whose session has ended. */
export function LoginForm({ ways, onLink, place = 'alone' }: LoginProps) {
  const [kind, setKind] = useState<'admin_key' | 'key'>('admin_key');
  const [text, setText] = useState('');
  const client = useQueryClient();
  const login = useMutation({
    mutationFn: (credential: Credential) => logIn(client, credential),
  });
  const { mutate } = login;
  useEffect(() => {
    const token = tokenInAddress('token');
    if (token !== null) mutate({ token }, { onSettled: (_, error) => onLink?.(error) });
  }, [mutate, onLink]);
  const hasProvider = Object.values(ways).some((provider) => provider !== null);
  const byToken = login.variables !== undefined && 'token' in login.variables;

  if (byToken && (login.isPending || login.isSuccess)) {
    return (
      <p role="status" className="py-4 text-center text-muted">
        Logging in…
      </p>
    );
  }
  return (
    <div className="flex flex-col gap-4">
      {byToken && login.error !== null && <Note tone="warn">{login.error.message}</Note>}
      {hasProvider && (
        <>
          {place === 'over' && (
            <p className="text-muted text-sm">
              This login opens in another tab. Come back here once you are logged in.
            </p>
          )}
          <ProviderLinks ways={ways} target={place === 'over' ? '_blank' : undefined} />
          <div className="flex items-center gap-3 text-faint text-xs before:h-px before:flex-1 before:bg-line after:h-px after:flex-1 after:bg-line">
            or
          </div>
        </>
      )}
      <Form
        error={byToken ? null : login.error}
        onSubmit={() => mutate(kind === 'admin_key' ? { admin_key: text } : { key: text })}
      >
        <Segments
          label="Log in with"
          value={kind}
          options={[
            { value: 'admin_key', label: 'Admin key' },
            { value: 'key', label: 'API key' },
          ]}
          onValue={setKind}
        />
        <Field
          name={kind}
          label={kind === 'admin_key' ? 'Admin key' : 'API key'}
          hint={
            kind === 'admin_key'
              ? 'The admin key of the server, from .culvert/admin.key, or the key of an operator.'
              : 'You see the limits and the usage of this key.'
          }
        >
          <Input
            type="password"
            autoComplete="current-password"
            // Over a page whose session has ended, the dialog is there before its form. A finger would open a keyboard.
            autoFocus={!hasProvider && !matchMedia('(pointer: coarse)').matches}
            spellCheck={false}
            value={text}
            onChange={(event) => setText(event.target.value.trim())}
          />
        </Field>
        <Button type="submit" look={hasProvider ? 'plain' : 'main'} busy={login.isPending} disabled={text === ''}>
          Log in
        </Button>
      </Form>
    </div>
  );
}

/** Links to the login of each provider, which lead back to this page. */
export function ProviderLinks({ ways, as, target }: { ways: LoginWays; as?: string; target?: '_blank' }) {
  const query = new URLSearchParams({ to: placeNow() + location.search });
  return providerLogins.map((login) => {
    const provider = ways[login];
    if (provider === null) return null;
    return (
      <a
        key={login}
        href={`${serverPath}/dashboard/${login}/start?${query}`}
        target={target}
        className={buttonClass('main', 'w-full')}
      >
        Continue with {provider.name}
        {as !== undefined && ` as ${as}`}
      </a>
    );
  });
}
