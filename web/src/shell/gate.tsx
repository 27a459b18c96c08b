import { useQuery } from '@tanstack/react-query';
import { Navigate, Outlet } from '@tanstack/react-router';
import { lazy, Suspense, useEffect, useRef, useState } from 'react';
import { whenReachable } from '../api/connection.ts';
import { noProviders, type Session, SessionProvider, sessionQuery } from '../api/session.ts';
import { Dialog } from '../parts/dialog.tsx';
import { ErrorNote } from '../parts/error-note.tsx';
import { lazyPart } from '../parts/lazy-part.ts';
import { toast } from '../parts/toast.tsx';
import { hasToken, tokenInAddress } from './address-token.ts';
import { Shell } from './shell.tsx';

const login = () => whenReachable(() => import('./login.tsx'));
const LoginPage = lazy(() => login().then(({ LoginPage }) => ({ default: LoginPage })));
const LoginForm = lazy(() => login().then(({ LoginForm }) => ({ default: LoginForm })));
const InvitationPage = lazyPart(() => import('./invitation.tsx'));

/**
 * Pages for logged-in people. A session that ends keeps the page, and the typed text, behind a dialog that asks for the
 * next one.
 */
export function Gate({ kind }: { kind: Session['kind'] }) {
  const { data, error, refetch } = useQuery({
    ...sessionQuery,
    // The next login may be in another tab.
    refetchOnWindowFocus: ({ state }) => (state.data?.session === null ? 'always' : true),
  });
  const last = useRef<Session | null>(null);
  const isAnother = data?.session != null && last.current !== null && personOf(data.session) !== personOf(last.current);
  if (data?.session != null && !isAnother) last.current = data.session;
  // The page of the one before goes at once: it would ask whether its changes may be lost.
  const session = isAnother ? null : last.current;
  // What was read and typed before is not theirs.
  useEffect(() => {
    if (isAnother) location.reload();
  }, [isAnother]);
  // Also in a browser that is logged in: a link is for the person who opens it.
  const [isLink, setLink] = useState(() => hasToken('token'));
  const [invitation, setInvitation] = useState(() => tokenInAddress('invitation'));

  if (invitation !== null && data !== undefined) {
    const ways = data.session === null ? data.login : noProviders;
    return (
      <Suspense>
        <InvitationPage token={invitation} ways={ways} onDone={() => setInvitation(null)} />
      </Suspense>
    );
  }

  if (session === null) {
    if (data !== undefined && data.session === null) {
      return (
        <Suspense>
          <LoginPage ways={data.login} onLink={() => setLink(false)} />
        </Suspense>
      );
    }
    if (error !== null) {
      return (
        <main className="mx-auto max-w-md px-4 pt-[20dvh]">
          <ErrorNote error={error} retry={() => void refetch()} />
        </main>
      );
    }
    return <p role="status" aria-label="Loading" className="min-h-dvh bg-ground" />;
  }
  if (isLink) {
    const onLink = (error: Error | null) => {
      if (error === null) return location.reload();
      toast(error.message);
      setLink(false);
    };
    return (
      <Suspense>
        <LoginPage ways={noProviders} onLink={onLink} />
      </Suspense>
    );
  }
  if (session.kind !== kind) return <Navigate to={session.kind === 'key' ? '/account' : '/dashboard'} />;
  const ended = data !== undefined && data.session === null;
  return (
    <SessionProvider value={session}>
      <Shell session={session}>
        <Outlet />
      </Shell>
      {ended && (
        <Dialog
          open
          onClose={null}
          title="Your session has ended"
          description="Log in to continue. What you typed is kept."
        >
          <Suspense>
            <LoginForm ways={data.login} place="over" />
          </Suspense>
        </Dialog>
      )}
    </SessionProvider>
  );
}

function personOf(session: Session): string {
  return session.kind === 'key' ? `key ${session.key.id}` : `operator ${session.name}`;
}
