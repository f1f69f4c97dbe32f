/** Sessions that go on after their process, or beyond one conversation. */
import type { Script } from '../script-types.ts'
import { call, meanwhile, read, say } from './replies.ts'

const program = `
await tools.read({ file_path: 'a/one.txt' })
await tools.read({ file_path: 'b/two.txt' })
return 'both read'
`

export const sessionScripts: Script[] = [
  {
    name: 'resume',
    about: 'a session goes on in two later processes, after offline changes and under another budget',
    home: { 'AGENTS.md': 'Answer in short sentences.\n' },
    project: {
      '.git': null,
      'AGENTS.md': 'Root rules.\n',
      'app/AGENTS.md': 'App rules.\n',
      'app/main.ts': 'export {}\n',
    },
    runs: [
      { task: 'read the app', replies: () => [call(read('app/main.ts')), say('read')] },
      {
        task: 'go on',
        isResume: true,
        before: ({ project, home }) => {
          project.write('AGENTS.md', 'New root rules.\n')
          project.remove('app/AGENTS.md')
          home.remove('AGENTS.md')
          project.write('CLAUDE.md', 'A second file.\n')
        },
        replies: () => [call(read('app/main.ts')), say('went on')],
      },
      {
        task: ['and on', 'and on'],
        isResume: true,
        config: { maxBytes: 4096 },
        replies: () => [say('went on'), say('still here')],
      },
    ],
    sees: [
      'baseline $DSH_HOME/AGENTS.md, baseline AGENTS.md',
      'added app/AGENTS.md',
      'removed $DSH_HOME/AGENTS.md, updated AGENTS.md, added CLAUDE.md, removed app/AGENTS.md',
      'baseline AGENTS.md, baseline CLAUDE.md',
    ],
  },
  {
    name: 'compaction',
    about: 'the conversation is summarized and the baseline is told again',
    project: {
      '.git': null,
      'AGENTS.md': 'Root rules.\n',
      'app/AGENTS.md': 'App rules.\n',
      'app/main.ts': 'export {}\n',
    },
    runs: [
      {
        task: ['read the app', 'read it again', 'and now?'],
        replies: ({ project }) => [
          call(read('app/main.ts')),
          say(`A long answer. ${'It goes on. '.repeat(2000)}`),
          meanwhile(() => project.write('AGENTS.md', 'Root rules, edited.\n'), { refuse: 'context_length_exceeded' }),
          call(read('app/main.ts')),
          say('read again'),
          say('nothing new'),
        ],
      },
    ],
    sees: ['baseline AGENTS.md', 'added app/AGENTS.md', 'baseline AGENTS.md, added app/AGENTS.md'],
  },
  {
    name: 'code-mode',
    about: 'reads from inside a program reach the model together after it',
    env: { DSH_TOOLS_MODE: 'code' },
    project: {
      '.git': null,
      'AGENTS.md': 'Root rules.\n',
      'a/AGENTS.md': 'Rules of a.\n',
      'a/one.txt': 'one\n',
      'b/AGENTS.md': 'Rules of b.\n',
      'b/two.txt': 'two\n',
    },
    runs: [
      {
        task: 'read both files',
        replies: () => [call({ tool: 'run_code', args: { description: 'Read both files', code: program } }), say('done')],
      },
    ],
    sees: ['baseline AGENTS.md', 'added a/AGENTS.md, added b/AGENTS.md'],
  },
  {
    name: 'subagent',
    about: 'a delegated task is instructed like its parent',
    project: {
      '.git': null,
      'AGENTS.md': 'Root rules.\n',
      'app/AGENTS.md': 'App rules.\n',
      'app/main.ts': 'export {}\n',
    },
    runs: [
      {
        task: 'let someone read the app',
        replies: () => [
          call({
            tool: 'subagent',
            args: { description: 'Read the app', prompt: 'Read app/main.ts.', run_in_background: false },
          }),
          call(read('app/main.ts')),
          say('it exports nothing'),
          say('the subagent says that it exports nothing'),
        ],
      },
    ],
    sees: ['baseline AGENTS.md', 'baseline AGENTS.md', 'added app/AGENTS.md'],
  },
]
