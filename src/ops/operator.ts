import type { Credentials } from '../http/credentials.ts'
import { isLive, projectOf } from '../model/scope.ts'
import { ApiError } from '../runtime/errors.ts'

/** Which project's admins see and change what is of the whole process (G8). */
export interface OperatorParts {
  /** 0: the first project. */
  readonly operatorProject: number
  /** The id of the first project. */
  readonly firstProject: () => number | undefined
}

/** @throws ApiError 403 for other projects */
export function checkOperator(
  { scope }: Credentials,
  { operatorProject, firstProject }: OperatorParts,
): void {
  const operator = operatorProject === 0 ? firstProject() : operatorProject
  if (projectOf(scope) !== operator)
    throw new ApiError(403, 'Forbidden. This is for the project that the option operatorProject names.')
}

/**
 * What changes the whole process changes the live environment, too. So the key of the test environment, which more
 * people and programs have, is not enough. An admin's account is for both environments.
 * @throws ApiError 403
 */
export function checkLive({ scope, session }: Credentials): void {
  if (session?.account === undefined && !isLive(scope))
    throw new ApiError(
      403,
      'Forbidden. This changes the live environment, too: use the secret key of the live environment, or an account.',
    )
}
