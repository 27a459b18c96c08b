import { createPages } from './pages.ts';
import { createSessionDoor, type SessionDoor } from './session-door.ts';
import { createSignIn, type SignIn, type SignInParts } from './sign-in.ts';

/** What a browser talks to beside the APIs. */
export interface Dashboard {
  pages: ReturnType<typeof createPages>;
  signIn: SignIn;
  door: SessionDoor;
}

export function createDashboard(parts: SignInParts & { pagesFolder: string | null }): Dashboard {
  return { pages: createPages(parts.pagesFolder), signIn: createSignIn(parts), door: createSessionDoor(parts) };
}
