//! Prompts of servers as commands of a chat: `/mcp__server__prompt a b`.
