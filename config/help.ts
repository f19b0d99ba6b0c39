/** The text of `--help`. */
import type { Option } from './option.ts'
import { flagOf, OPTION_NAMES, OPTIONS } from './options.ts'

/** The text of `--help`, made from the table. */
export function helpText(): string {
  const lines = [
    'Usage: npm start -- [options]                 run the server',
    '       npm run keys -- <command>              list and rotate API keys',
    '       npm run projects -- <command>          create and disable projects, give them a monthly quota',
    '       npm run accounts -- <command>          manage the accounts of people who sign in',
    '       npm run import -- KIND FILE            import geofences or beacons into a running server',
    '       npm run move -- --from-radar           copy geofences, beacons and settings from a Radar project',
    '       npm run region -- <command>            build regions (map data) from OpenStreetMap extracts',
    '       npm run backup -- FOLDER               copy the data folder, while the server runs',
    '       npm run restore -- BACKUP              create a data folder from a backup',
    '       npm run mcp -- [options]               let AI assistants ask a running server',
    '       npm run demo -- [options]              simulate devices that drive through geofences',
    '       npm run cluster -- [options]           run the distributed engine on this machine',
    'Each of these commands explains itself with --help.',
    '',
    'Each setting has a flag and an environment variable. If it is set in several ways, the first of these counts: flag,',
    'environment variable, file of --config, default.',
    '',
  ]
  for (const name of OPTION_NAMES) {
    const option: Option = OPTIONS[name]
    lines.push(`  ${flagOf(name)} ${option.value}`)
    for (const line of wrap(`${option.help} ${boundsText(option)}`, 84)) lines.push(`      ${line}`)
    lines.push(`      ${option.env}`)
  }
  lines.push(
    '  --config FILE',
    '      JSON object of settings by name, as in config/embedded.json and config/distributed.json.',
    '  --version',
    '  --help',
  )
  return lines.join('\n')
}

function boundsText(option: Option): string {
  switch (option.type) {
    case 'integer':
      return `From ${option.low} to ${option.high}, default ${option.default}.`
    case 'switch':
      return `Default ${option.default ? 'on' : 'off'}.`
    case 'list':
      return `Comma-separated, default ${option.default.join(',') || 'none'}.`
    case 'rates':
      return 'Comma-separated, default none.'
    case 'choice':
    case 'text':
      return `Default ${option.default === '' ? 'none' : option.default}.`
  }
}

function wrap(text: string, width: number): string[] {
  const lines: string[] = []
  let line = ''
  for (const word of text.split(' ')) {
    if (line !== '' && line.length + 1 + word.length > width) {
      lines.push(line)
      line = word
    } else {
      line = line === '' ? word : `${line} ${word}`
    }
  }
  return [...lines, line]
}
