import Type from 'typebox'
import { required, textField, type Fields } from '../http/fields.ts'
import { route, type Route } from '../http/route.ts'
import { Text } from '../http/schemas.ts'
import { isEmail, MAX_EMAIL_LENGTH } from '../model/email.ts'
import { badParam } from '../runtime/errors.ts'
import type { Notifier } from './notifier.ts'

/** The route that sends an e-mail to test whether that works. */
export function notificationRoutes(notifier: Notifier): Route[] {
  return [
    route({
      method: 'POST',
      path: '/v1/notifications/test',
      auth: 'secret',
      role: 'admin',
      tag: 'Notifications',
      summary: 'Send a test e-mail',
      description:
        'Tries once, and says what the mail server answered. At most five an hour in each environment; further ones are ' +
        'answered with 429.',
      body: Type.Object({ email: Text(MAX_EMAIL_LENGTH, 'The address that gets the e-mail.') }),
      answers: {
        200: Type.Object({
          notification: Type.Object({
            status: Type.Enum(['sent', 'failed', 'notConfigured'], {
              description: '`notConfigured`: the operator has set no mail server.',
            }),
            error: Type.Optional(Type.String({ description: 'Why the e-mail was not sent.' })),
          }),
        }),
        429: Type.Object({}, { description: 'Five were sent within the last hour.' }),
      },
      handler: async (call) => {
        const email = required('email', textField(call.body as Fields, 'email', MAX_EMAIL_LENGTH)).trim()
        if (!isEmail(email)) throw badParam('email', 'It must be an e-mail address.')
        return { body: { notification: await notifier.test(call.credentials!.scope, email) } }
      },
    }),
  ]
}
