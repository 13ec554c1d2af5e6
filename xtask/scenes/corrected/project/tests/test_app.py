from app import greet


def test_greet():
    assert greet("you") == "Hello you"
